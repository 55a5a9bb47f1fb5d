export { MAIL_SENDER_RULES, MAIL_SENDER_SETTINGS, SENDING_SETTINGS, sendingOptions } from './config.js';
export type { OpenSecret } from './load-server.js';
export { type MailSenderOptions, mailSenderParts } from './parts.js';
