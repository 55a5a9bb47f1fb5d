export { PUBLISHER_SETTINGS, publishingOptions } from './config.js';
export { outboxPublisherParts, type PublisherOptions, RELAY_DEFAULTS } from './parts.js';
export { type PublishContext, publishEntries } from './publish-entries.js';
export { type RelayOptions, relayOutbox } from './relay-outbox.js';
export { sweep } from './sweep.js';
export { createWarnOfRoute } from './warn-of-route.js';
