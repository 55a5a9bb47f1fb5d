/** The version of everything in this repository: services show it in metrics, traces and the API document. */
export const VERSION = '0.1.0';
