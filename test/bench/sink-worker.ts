import { startSmtpSink } from '../harness/smtp-sink.js';

// A mail server in a process of its own, so that its work is not counted as the sender's. Says its port, lives as long as its standard input.
const sink = await startSmtpSink();
process.stdout.write(`${JSON.stringify({ port: sink.port })}\n`);
process.stdin.resume().once('end', () => process.exit(0));
