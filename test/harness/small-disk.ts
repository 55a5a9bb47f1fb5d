import { spawnSync } from 'node:child_process';
import { chownSync, mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A file system of its own that can be full. */
export type SmallDisk = {
	readonly folder: string;
	/** Lets a user of this machine have it, by its number. */
	give(user: number): void;
	/** Leaves no byte of it free. */
	fill(): void;
	/** Gives back what `fill` took. */
	relieve(): void;
	/** Unmounts it; it is gone once nobody uses it any more. */
	remove(): void;
};

/** Mounts one of so many megabytes. Null: this process may not mount. */
export function mountSmallDisk(megabytes: number): SmallDisk | null {
	const folder = mkdtempSync(join(tmpdir(), 'tidings-disk-'));
	const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=700`, 'tmpfs', folder], { stdio: 'ignore' });
	if (status !== 0) {
		rmdirSync(folder);
		return null;
	}
	const ballast = join(folder, 'ballast');
	return {
		folder,
		give: (user) => chownSync(folder, user, -1),
		fill: () => {
			try {
				// Page by page: a write that does not fit as a whole may leave its rest free.
				for (;;) writeFileSync(ballast, Buffer.alloc(4_096), { flag: 'a' });
			} catch (error) {
				if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
			}
		},
		relieve: () => rmSync(ballast),
		remove: () => {
			const { stderr, status: left } = spawnSync('umount', ['-l', folder], { encoding: 'utf8' });
			if (left !== 0) throw new Error(`${folder} cannot be unmounted: ${stderr}`);
			rmdirSync(folder);
		},
	};
}
