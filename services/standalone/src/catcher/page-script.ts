/** The page's script. All that comes from a mail becomes text nodes or goes into the sandboxed frame, which has no script and no origin. */
export const PAGE_SCRIPT = String.raw`
const PAGE = 50, POLL_MS = 1500, SOURCE_BYTES = 256 * 1024;
const el = (id) => document.getElementById(id);
const views = ['html', 'text', 'source', 'headers', 'attachments'];
let mails = [], cursor = null, query = '', shown = null, view = 'html', asked = 0;

function make(tag, className, text) {
	const node = document.createElement(tag);
	if (className) node.className = className;
	if (text !== undefined) node.textContent = text;
	return node;
}

async function ask(path) {
	const answer = await fetch(path);
	if (!answer.ok) throw Object.assign(new Error('HTTP ' + answer.status), { status: answer.status });
	return answer.json();
}

function listPath(after) {
	const words = new URLSearchParams({ limit: String(PAGE) });
	if (query) words.set('q', query);
	if (after) words.set('cursor', after);
	return '/messages?' + words;
}

// --- the list

function clock(iso) {
	const at = new Date(iso), today = new Date().toDateString() === at.toDateString();
	return today ? at.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: '2-digit' }) : at.toLocaleDateString([], { day: 'numeric', month: 'short' });
}

function row(mail) {
	const item = make('li'), link = make('a');
	link.href = '#' + mail.id;
	link.dataset.id = mail.id;
	const time = make('time', '', clock(mail.receivedAt));
	time.dateTime = mail.receivedAt;
	link.append(make('span', 'to', 'To ' + (mail.to.join(', ') || 'nobody')), time, make('span', 'about', mail.subject || '(no subject)'));
	item.append(link);
	return item;
}

function mark() {
	for (const link of el('mails').querySelectorAll('a')) {
		if (link.dataset.id === shown) link.setAttribute('aria-current', 'true');
		else link.removeAttribute('aria-current');
	}
}

function settleList() {
	const none = mails.length === 0;
	el('nothing').hidden = !(none && query);
	el('older').hidden = cursor === null;
	el('empty').hidden = !(none && !query && !shown);
	el('mail').classList.toggle('alone', none && !query);
	el('choose').hidden = none || shown !== null;
	say(none ? (query ? 'No match' : 'Waiting for the first mail') : mails.length + (cursor ? '+' : '') + (mails.length === 1 && !cursor ? ' mail' : ' mails'), false);
	mark();
}

function say(text, bad) {
	const state = el('state');
	if (state.textContent !== text) state.textContent = text;
	state.classList.toggle('bad', bad);
}

function take(page) {
	const known = new Set(mails.map((mail) => mail.id));
	const fresh = page.data.filter((mail) => !known.has(mail.id));
	// No overlap: more came than one page holds, so the list begins anew.
	if (fresh.length === page.data.length) {
		mails = page.data;
		cursor = page.nextCursor;
		el('mails').replaceChildren(...mails.map(row));
	} else if (fresh.length > 0) {
		mails = fresh.concat(mails);
		el('mails').prepend(...fresh.map(row));
	}
}

async function refresh() {
	const turn = ++asked;
	try {
		const page = await ask(listPath());
		if (turn !== asked) return;
		take(page);
		settleList();
	} catch {
		if (turn === asked) say('Tidings does not answer', true);
	}
}

async function poll() {
	if (document.visibilityState === 'visible') await refresh();
	setTimeout(poll, POLL_MS);
}

async function showOlder() {
	const turn = ++asked;
	const page = await ask(listPath(cursor)).catch(() => null);
	if (turn !== asked || !page) return;
	mails = mails.concat(page.data);
	cursor = page.nextCursor;
	el('mails').append(...page.data.map(row));
	settleList();
}

// --- one mail

function words(box) {
	return box.name ? box.name + ' <' + box.address + '>' : box.address;
}

function bytes(size) {
	if (size < 1000) return size + ' B';
	return size < 1e6 ? (size / 1e3).toFixed(1) + ' kB' : (size / 1e6).toFixed(1) + ' MB';
}

function facts(mail) {
	const headed = [...mail.to, ...mail.cc].map((box) => box.address.toLowerCase());
	const blind = mail.envelope.to.filter((address) => !headed.includes(address.toLowerCase()));
	const lines = [
		['From', mail.from ? words(mail.from) : mail.envelope.from || '(bounce)'],
		['To', mail.to.map(words).join(', ')],
		['Cc', mail.cc.map(words).join(', ')],
		['Envelope only', blind.join(', ')],
		['Reply to', mail.replyTo.map(words).join(', ')],
		['Received', new Date(mail.receivedAt).toLocaleString() + ' · ' + bytes(mail.size)],
	];
	return lines.filter((line) => line[1]).flatMap((line) => [make('dt', '', line[0]), make('dd', '', line[1])]);
}

function attachment(mail, part) {
	const item = make('li'), link = make('a', '', part.filename);
	link.href = '/messages/' + mail.id + '/attachments/' + part.index;
	link.setAttribute('download', part.filename);
	item.append(link, make('span', '', part.contentType + ' · ' + bytes(part.size) + (part.inline ? ' · inline' : '')));
	return item;
}

function headerRow(line) {
	const item = make('tr'), name = make('th', '', line.name);
	name.scope = 'row';
	item.append(name, make('td', '', line.value));
	return item;
}

function frameUrl(id) {
	return '/messages/' + id + '/html' + (el('remote').checked ? '?pictures=remote' : '');
}

async function loadSource(id) {
	el('source').textContent = 'Loading…';
	el('cut').hidden = true;
	const answer = await fetch('/messages/' + id + '.eml');
	const reader = answer.body.getReader(), decoder = new TextDecoder();
	let text = '', size = 0;
	while (size < SOURCE_BYTES) {
		const { done, value } = await reader.read();
		if (done) break;
		size += value.length;
		text += decoder.decode(value, { stream: true });
	}
	await reader.cancel();
	if (shown !== id) return;
	el('source').textContent = text;
	el('cut').hidden = size < SOURCE_BYTES;
}

async function show(id) {
	shown = id;
	document.body.classList.toggle('reading', id !== null);
	for (const part of ['shown', 'gone', 'choose']) el(part).hidden = true;
	settleList();
	if (id === null) return;
	const mail = await ask('/messages/' + id).catch(() => null);
	if (shown !== id) return;
	if (!mail) {
		el('gone').hidden = false;
		return;
	}
	el('subject').textContent = mail.subject || '(no subject)';
	el('subject').classList.toggle('none', !mail.subject);
	el('facts').replaceChildren(...facts(mail));
	el('text').textContent = mail.text ?? '';
	el('headers').replaceChildren(...mail.headerLines.map(headerRow));
	el('attachments').replaceChildren(...mail.attachments.map((part) => attachment(mail, part)));
	el('no-attachments').hidden = mail.attachments.length > 0;
	el('tab-attachments').textContent = 'Attachments' + (mail.attachments.length ? ' (' + mail.attachments.length + ')' : '');
	el('download').href = '/messages/' + id + '.eml';
	el('remote').checked = false;
	el('remote-line').hidden = !/(?:src|background|url\()\s*=?\s*["']?\s*(?:https?:)?\/\//i.test(mail.html ?? '');
	el('tab-html').disabled = mail.html === null;
	el('frame').removeAttribute('src');
	el('source').textContent = '';
	el('shown').dataset.id = id;
	choose(mail.html === null && view === 'html' ? 'text' : view, false);
	el('shown').hidden = false;
}

function choose(name, wanted) {
	if (wanted) view = name;
	for (const one of views) {
		const tab = el('tab-' + one), on = one === name;
		tab.setAttribute('aria-selected', String(on));
		tab.tabIndex = on ? 0 : -1;
		el('panel-' + one).hidden = !on;
		el('panel-' + one).scrollTop = 0;
	}
	const id = el('shown').dataset.id;
	// A frame takes its own place in the history unless its address is replaced.
	if (name === 'html' && el('frame').getAttribute('src') !== frameUrl(id)) putFrame(frameUrl(id));
	if (name === 'source' && el('source').textContent === '') loadSource(id).catch(() => (el('source').textContent = 'The source cannot be read.'));
}

function putFrame(url) {
	const old = el('frame'), fresh = old.cloneNode();
	fresh.src = url;
	old.replaceWith(fresh);
}

// --- hands

function fromAddress() {
	const id = location.hash.slice(1);
	if (id === 'mail') return el('mail').focus();
	show(/^[0-9a-f-]{36}$/.test(id) ? id : null);
}

function step(by) {
	const links = [...el('mails').querySelectorAll('a')];
	const at = links.findIndex((link) => link.dataset.id === shown);
	const next = links[at < 0 ? 0 : Math.min(links.length - 1, Math.max(0, at + by))];
	if (!next) return;
	next.focus();
	location.hash = next.dataset.id;
}

el('search').addEventListener('submit', (event) => event.preventDefault());
el('query').addEventListener('input', () => {
	query = el('query').value.trim();
	mails = [];
	cursor = null;
	el('mails').replaceChildren();
	refresh();
});
el('older').addEventListener('click', showOlder);
el('back').addEventListener('click', () => (location.hash = ''));
el('remote').addEventListener('change', () => putFrame(frameUrl(shown)));
for (const name of views) el('tab-' + name).addEventListener('click', () => choose(name, true));
document.querySelector('.tabs').addEventListener('keydown', (event) => {
	const open = views.filter((name) => !el('tab-' + name).disabled);
	const at = open.findIndex((name) => el('tab-' + name) === document.activeElement);
	const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: open.length - 1 }[event.key];
	if (to === undefined) return;
	event.preventDefault();
	const name = open[(to + open.length) % open.length];
	choose(name, true);
	el('tab-' + name).focus();
});
document.addEventListener('keydown', (event) => {
	if (event.ctrlKey || event.metaKey || event.altKey) return;
	const typing = event.target instanceof HTMLInputElement && event.target.type === 'search';
	if (event.key === '/' && !typing) {
		event.preventDefault();
		el('query').focus();
	} else if (event.key === 'Escape' && typing) {
		el('query').blur();
	} else if (!typing && (event.key === 'j' || event.key === 'k')) {
		step(event.key === 'j' ? 1 : -1);
	} else if ((event.key === 'ArrowDown' || event.key === 'ArrowUp') && el('list').contains(document.activeElement)) {
		event.preventDefault();
		step(event.key === 'ArrowDown' ? 1 : -1);
	}
});
addEventListener('hashchange', fromAddress);
document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && refresh());

fromAddress();
poll();
`;
