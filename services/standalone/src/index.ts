export { STANDALONE_SETTINGS } from './config.js';
