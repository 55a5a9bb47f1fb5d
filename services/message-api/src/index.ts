export { type ActContext, type ActResult } from './act-on-message.js';
export { cancelMessage } from './cancel-message.js';
export { releaseMessage } from './release-message.js';
export { retryMessage } from './retry-message.js';
