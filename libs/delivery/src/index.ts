export * from './classify/parse-reply.js';
export * from './classify/smtp.js';
export type { DeliveryOptions } from './context.js';
export { createDelivery, type Delivery } from './delivery.js';
export { type GateVerdict, gateVerdict } from './gate-verdict.js';
export { type Judging, judge } from './judge.js';
export type { DeliveryMessage } from './message.js';
export { type ProbeOptions, probeGates } from './probe-gates.js';
export type { Provider, Send } from './provider.js';
