import { type ChildProcess, spawn } from 'node:child_process';

// Kills what it was told of once nobody holds its standard input any more: also after our own kill -9, and also what is paused.
const KEEPER = `
while read -r sign pid; do
	if [ "$sign" = + ]; then pids="$pids $pid "; else pids=\${pids%% $pid *}\${pids#* $pid }; fi
done
[ -z "$(echo $pids)" ] || kill -9 $pids 2>/dev/null
`;

let keeper: ReturnType<typeof startKeeper> | undefined;

function startKeeper() {
	// A process group of its own: an interrupt from the keyboard is for us, and our end is for it.
	const child = spawn('sh', ['-c', KEEPER], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
	child.unref();
	if ('unref' in child.stdin && typeof child.stdin.unref === 'function') child.stdin.unref();
	return child;
}

/** Has a child process killed when this process ends, in whatever way. */
export function endWithUs(child: ChildProcess): void {
	const { pid } = child;
	if (pid === undefined) return;
	keeper ??= startKeeper();
	const { stdin } = keeper;
	stdin.write(`+ ${pid}\n`);
	child.once('exit', () => stdin.write(`- ${pid}\n`));
}
