export * from './broker.js';
export * from './broker-options.js';
export * from './consume-all.js';
export * from './contract.js';
export * from './open-broker.js';
export * from './part.js';
