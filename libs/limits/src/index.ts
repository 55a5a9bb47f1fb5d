export { type CountedRequest, type CounterOptions, createRequestCounter, type RequestCounter } from './count-requests.js';
export { createMemoryWindows } from './memory-windows.js';
export type { Denial, RateWindows, Room, WindowAnswer, WindowRequest, WindowUse } from './rate-windows.js';
export { openRateWindows } from './redis-windows.js';
