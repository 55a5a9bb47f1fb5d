/** The page of caught mails; `{{smtpPort}}` is filled in. What a mail says is put in by the script as text, never as markup. */
export const PAGE_HTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Caught mails · Tidings</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/page.css">
<script src="/page.js" type="module"></script>
</head>
<body>
<a class="skip" href="#mail">Skip to the mail</a>
<header class="bar">
	<h1>Tidings <span>caught mails</span></h1>
	<form id="search" role="search">
		<label class="hidden" for="query">Search by subject, sender or recipient</label>
		<input id="query" type="search" placeholder="Search subject, sender, recipient" autocomplete="off" spellcheck="false" maxlength="200" aria-keyshortcuts="/">
		<kbd aria-hidden="true">/</kbd>
	</form>
	<p id="state" class="state" role="status">Loading…</p>
</header>
<main>
	<nav id="list" aria-label="Mails, newest first">
		<ol id="mails"></ol>
		<p id="nothing" class="nothing" hidden>No mail matches.</p>
		<button id="older" type="button" hidden>Show older mails</button>
	</nav>
	<article id="mail" tabindex="-1" aria-label="Mail">
		<section id="empty" class="empty" hidden>
			<h2>No mail yet</h2>
			<p>Every mail that Tidings sends through its first mail server lands here; none leaves this machine.</p>
			<p>Send a first one: copy the <code>curl</code> command that <code>npm start</code> printed, and run it in a terminal. The mail shows up here by itself.</p>
			<p>Any other program can send here too, without a password or encryption:</p>
			<pre>host  127.0.0.1
port  {{smtpPort}}</pre>
		</section>
		<section id="choose" class="empty" hidden><p>Choose a mail from the list.</p></section>
		<section id="gone" class="empty" hidden><h2>This mail is not here</h2><p>Only the newest 10,000 are kept.</p></section>
		<section id="shown" hidden>
			<button id="back" type="button" class="back">← All mails</button>
			<h2 id="subject"></h2>
			<dl id="facts"></dl>
			<div class="tabs" role="tablist" aria-label="Views of the mail">
				<button type="button" role="tab" id="tab-html" aria-controls="panel-html">HTML</button>
				<button type="button" role="tab" id="tab-text" aria-controls="panel-text">Text</button>
				<button type="button" role="tab" id="tab-source" aria-controls="panel-source">Source</button>
				<button type="button" role="tab" id="tab-headers" aria-controls="panel-headers">Headers</button>
				<button type="button" role="tab" id="tab-attachments" aria-controls="panel-attachments">Attachments</button>
			</div>
			<div role="tabpanel" id="panel-html" aria-labelledby="tab-html" hidden>
				<label class="remote" id="remote-line" hidden><input type="checkbox" id="remote"> Load pictures from the web</label>
				<iframe id="frame" title="The mail's HTML" sandbox="allow-popups allow-popups-to-escape-sandbox" referrerpolicy="no-referrer"></iframe>
			</div>
			<div role="tabpanel" id="panel-text" aria-labelledby="tab-text" tabindex="0" hidden><pre id="text"></pre></div>
			<div role="tabpanel" id="panel-source" aria-labelledby="tab-source" tabindex="0" hidden>
				<p class="note"><a id="download" download>Download as .eml</a> <span id="cut" hidden>The first 256 kB are shown.</span></p>
				<pre id="source"></pre>
			</div>
			<div role="tabpanel" id="panel-headers" aria-labelledby="tab-headers" tabindex="0" hidden>
				<table><caption class="hidden">Headers in their order</caption><tbody id="headers"></tbody></table>
			</div>
			<div role="tabpanel" id="panel-attachments" aria-labelledby="tab-attachments" tabindex="0" hidden>
				<p id="no-attachments" class="note">This mail has no attachments.</p>
				<ul id="attachments"></ul>
			</div>
		</section>
	</article>
</main>
</body>
</html>
`;
