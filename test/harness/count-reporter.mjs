/** Tells the runner how many tests passed and failed. A file that cannot be run counts as one failure. */
export default class CountReporter {
	onRunComplete(_contexts, results) {
		const { numPassedTests: passed, numFailedTests, numRuntimeErrorTestSuites } = results;
		process.send?.({ passed, failed: numFailedTests + numRuntimeErrorTestSuites });
	}
}
