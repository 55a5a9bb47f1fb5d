export { matchesSecret, type NewApiKey, newApiKey, parseApiKey } from './api-key.js';
export { open, type SealedField, seal } from './field.js';
export { keyIdOf } from './key-id-of.js';
export { faultOfKeys, type Keyring, parseKeys, type SealingKey } from './keyring.js';
