export { ALERT_SETTINGS, alertRecipients } from './alert-recipients.js';
export { DEAD_LETTER_SETTINGS } from './config.js';
export { type DeadLetterOptions, deadLetterParts } from './parts.js';
