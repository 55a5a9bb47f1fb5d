export type { AuthenticateOptions, Caller, CallerTenant, Credential, CredentialSource, TenantSettings } from './authenticate.js';
export { etagOf, refuseStale } from './etag.js';
export { child as pointerTo } from './faults-of.js';
export { type HttpPart, httpPart } from './http-part.js';
export type { ApiInfo } from './openapi.js';
export { callerOf, type Operation, type OperationRequest, operation } from './operation.js';
export { createHttpServer, faultsGiven, type HttpServerOptions, refusalOfTenant } from './server.js';
export { refuseDeepNesting } from './validate.js';
export { createVerifyToken, type JwtOptions } from './verify-token.js';
