export { type CountedRequest, type CounterOptions, createRequestCounter, type RequestCounter } from './count-requests.js';
