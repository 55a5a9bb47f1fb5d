export * from './classify/parse-reply.js';
export * from './classify/smtp.js';
export type { DeliveryOptions } from './context.js';
export { createDelivery, type Delivery } from './delivery.js';
export { type Judging, judge } from './judge.js';
export type { DeliveryMessage } from './message.js';
export type { Provider, Send } from './provider.js';
