/** The page's look: system fonts, light and dark by the system's wish, one column on a narrow screen. */
export const PAGE_STYLE = `:root {
	--ground: #f6f7f9; --sheet: #ffffff; --ink: #1b2330; --soft: #566173; --line: #dde2e9; --accent: #1859b8; --chosen: #e6effc; --code: #f2f4f7;
	color-scheme: light dark;
}
@media (prefers-color-scheme: dark) {
	:root { --ground: #14181f; --sheet: #1b2029; --ink: #e7ebf1; --soft: #a2adbd; --line: #313947; --accent: #84b4ff; --chosen: #24344d; --code: #232a35; }
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
html, body { height: 100%; margin: 0; }
body { display: flex; flex-direction: column; background: var(--ground); color: var(--ink); font: 15px/1.45 system-ui, sans-serif; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.skip { position: absolute; left: 8px; top: -60px; padding: 8px 12px; background: var(--sheet); color: var(--accent); z-index: 2; }
.skip:focus { top: 8px; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
a { color: var(--accent); }
button, input { font: inherit; color: inherit; }
pre, code, kbd { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }

.bar { display: flex; align-items: center; gap: 20px; padding: 10px 20px; background: var(--sheet); border-bottom: 1px solid var(--line); }
.bar h1 { margin: 0; font-size: 17px; white-space: nowrap; }
.bar h1 span { color: var(--soft); font-weight: 400; }
#search { position: relative; flex: 1; max-width: 440px; margin: 0; }
#query { width: 100%; padding: 7px 34px 7px 12px; background: var(--ground); border: 1px solid var(--line); border-radius: 8px; }
#query::placeholder { color: var(--soft); opacity: 1; }
#search kbd { position: absolute; right: 10px; top: 8px; padding: 0 6px; border: 1px solid var(--line); border-radius: 4px; color: var(--soft); font-size: 12px; }
#query:focus + kbd, #query:not(:placeholder-shown) + kbd { display: none; }
.state { margin: 0 0 0 auto; color: var(--soft); font-size: 13px; white-space: nowrap; }
.state.bad { color: #b3261e; font-weight: 600; }
@media (prefers-color-scheme: dark) { .state.bad { color: #ff9d94; } }

main { flex: 1; display: grid; grid-template-columns: minmax(280px, 380px) 1fr; min-height: 0; }
nav { overflow-y: auto; border-right: 1px solid var(--line); background: var(--sheet); }
main:has(#mail.alone) { grid-template-columns: 1fr; }
main:has(#mail.alone) nav { display: none; }
#mails { list-style: none; margin: 0; padding: 0; }
#mails a { display: grid; grid-template-columns: 1fr auto; gap: 1px 10px; padding: 10px 16px 10px 20px; border-bottom: 1px solid var(--line); color: inherit; text-decoration: none; }
#mails a:hover { background: var(--ground); }
#mails a[aria-current] { background: var(--chosen); box-shadow: inset 4px 0 var(--accent); }
#mails a:focus-visible { outline-offset: -2px; }
#mails .to, #mails .about { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
#mails .about { grid-column: 1 / -1; font-weight: 500; }
#mails .to, #mails time { color: var(--soft); font-size: 13px; }
#older { display: block; margin: 14px auto; padding: 7px 16px; background: none; border: 1px solid var(--line); border-radius: 8px; cursor: pointer; }
.nothing { padding: 24px 20px; color: var(--soft); text-align: center; }

#mail { display: flex; flex-direction: column; min-width: 0; min-height: 0; overflow: hidden; }
#mail:focus { outline: none; }
.empty { max-width: 560px; margin: 12vh auto 0; padding: 0 24px; color: var(--soft); }
.empty h2 { color: var(--ink); }
.empty pre { display: inline-block; margin: 0; padding: 12px 18px; background: var(--sheet); border: 1px solid var(--line); border-radius: 8px; color: var(--ink); }
#shown { flex: 1; display: flex; flex-direction: column; min-height: 0; }
#subject { margin: 20px 28px 10px; font-size: 21px; line-height: 1.3; overflow-wrap: anywhere; }
#subject.none { color: var(--soft); font-weight: 400; }
#facts { display: grid; grid-template-columns: max-content 1fr; gap: 3px 14px; margin: 0 28px 16px; max-height: 24vh; overflow-y: auto; font-size: 14px; }
#facts dt { color: var(--soft); }
#facts dd { margin: 0; overflow-wrap: anywhere; }
.back { display: none; }
.tabs { display: flex; gap: 4px; padding: 0 24px; border-bottom: 1px solid var(--line); overflow-x: auto; }
.tabs button { padding: 8px 12px; background: none; border: 0; border-bottom: 3px solid transparent; color: var(--soft); cursor: pointer; white-space: nowrap; }
.tabs button:hover { color: var(--ink); }
.tabs button:focus-visible { outline-offset: -3px; }
.tabs button[aria-selected="true"] { color: var(--ink); border-color: var(--accent); font-weight: 600; }
.tabs button:disabled { opacity: .5; cursor: default; }
[role="tabpanel"] { flex: 1; min-height: 0; overflow: auto; background: var(--sheet); }
[role="tabpanel"]:focus-visible { outline-offset: -3px; }
#panel-html { display: flex; flex-direction: column; }
#frame { flex: 1; width: 100%; border: 0; background: #ffffff; color-scheme: light; }
.remote { padding: 8px 28px; border-bottom: 1px solid var(--line); font-size: 13px; color: var(--soft); }
.remote input { vertical-align: -2px; margin: 0 4px 0 0; }
#panel-text pre, #panel-source pre { margin: 0; padding: 18px 28px; white-space: pre-wrap; overflow-wrap: anywhere; font-size: 13.5px; }
.note { margin: 0; padding: 14px 28px 0; color: var(--soft); font-size: 14px; }
#panel-headers table { width: 100%; padding: 10px 28px; border-spacing: 0; font-size: 13.5px; }
#headers th { padding: 5px 18px 5px 0; text-align: left; vertical-align: top; font-weight: 600; white-space: nowrap; }
#headers td { padding: 5px 0; overflow-wrap: anywhere; font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: 13px; width: 100%; }
#attachments { list-style: none; margin: 0; padding: 12px 28px; }
#attachments li { display: flex; align-items: baseline; gap: 14px; padding: 9px 0; border-bottom: 1px solid var(--line); }
#attachments a { overflow-wrap: anywhere; }
#attachments span { color: var(--soft); font-size: 13px; white-space: nowrap; }

@media (max-width: 760px) {
	.bar { flex-wrap: wrap; gap: 8px 16px; padding: 10px 16px; }
	#search { order: 3; flex-basis: 100%; max-width: none; }
	main { grid-template-columns: 1fr; }
	body.reading nav, body:not(.reading) #mail:not(.alone) { display: none; }
	.back { display: block; align-self: flex-start; margin: 10px 12px 0; padding: 6px 10px; background: none; border: 0; color: var(--accent); cursor: pointer; }
	#subject { margin: 8px 20px; }
	#facts { margin: 0 20px 12px; }
	.tabs { padding: 0 12px; }
	#headers tr { display: block; padding: 4px 0; }
	#headers th, #headers td { display: block; padding: 1px 0; }
}
`;
