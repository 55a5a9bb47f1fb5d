export type { ActContext, ActResult } from './act-on-message.js';
export { type Bootstrapped, bootstrap } from './bootstrap.js';
export { cancelMessage } from './cancel-message.js';
export { MESSAGE_API_SETTINGS } from './config.js';
export { type MessageApiOptions, messageApiParts } from './parts.js';
export { releaseMessage } from './release-message.js';
export { retryMessage } from './retry-message.js';
export { createServer, type ServerContext } from './servers/create-server.js';
export type { NewServer } from './servers/server-schema.js';
