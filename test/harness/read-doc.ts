/** A command of a page, and what the page says it leads to. */
export type DocBlock = {
	/** The line of the page at which it begins. */
	readonly line: number;
	/** What a reader pastes into a shell. */
	readonly script: string;
	/** The answer of its last request, as shown; null when the page shows none: then all its requests succeed. */
	readonly answer: ShownAnswer | null;
	/** What it prints, as shown; null when the page shows nothing. */
	readonly output: string | null;
};

/** An HTTP answer as a page shows it; `…` stands for anything. */
export type ShownAnswer = {
	/** Such as `202 Accepted`. */
	readonly status: string;
	readonly headers: readonly { readonly name: string; readonly value: string }[];
	/** Empty when no body is shown. */
	readonly body: string;
};

/** Reads the `sh` blocks of a Markdown page in order, each with the `http` and `text` blocks that follow it. Throws when such a block stands alone. */
export function readDoc(markdown: string): DocBlock[] {
	const blocks: DocBlock[] = [];
	for (const { line, language, text } of fencesOf(markdown)) {
		if (language === 'sh') {
			blocks.push({ line, script: text, answer: null, output: null });
			continue;
		}
		if (language !== 'http' && language !== 'text') continue;
		const last = blocks.pop();
		if (last === undefined || last.answer !== null || last.output !== null) throw new Error(`line ${line}: no command leads to this`);
		blocks.push(language === 'http' ? { ...last, answer: readAnswer(text, line) } : { ...last, output: text });
	}
	return blocks;
}

type Fence = { readonly line: number; readonly language: string; readonly text: string };

function fencesOf(markdown: string): Fence[] {
	const fences: Fence[] = [];
	let open: { line: number; language: string; lines: string[] } | null = null;
	for (const [index, text] of markdown.split('\n').entries()) {
		if (!text.startsWith('```')) open?.lines.push(text);
		else if (open === null) open = { line: index + 1, language: text.slice(3).trim(), lines: [] };
		else {
			fences.push({ line: open.line, language: open.language, text: open.lines.join('\n') });
			open = null;
		}
	}
	if (open !== null) throw new Error(`line ${open.line}: the block has no end`);
	return fences;
}

function readAnswer(text: string, line: number): ShownAnswer {
	const [head = '', ...body] = text.split('\n\n');
	const [first = '', ...rest] = head.split('\n');
	const status = /^HTTP\/1\.1 (\d{3} .+)$/.exec(first)?.[1];
	if (status === undefined) throw new Error(`line ${line}: an answer begins with a status line, not with \`${first}\``);
	const headers = rest.map((one) => ({
		name: one.slice(0, one.indexOf(':')).toLowerCase(),
		value: one.slice(one.indexOf(':') + 1).trim(),
	}));
	return { status, headers, body: body.join('\n\n').trim() };
}
