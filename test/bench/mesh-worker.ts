import { startParts } from '@tidings/runtime';
import { openMesh } from './worker-mesh.js';

// A publisher and a mail sender in a process of their own, by default with the embedded broker in its memory. Says when they have started, and works as long as its standard input lives.
const [url = '', brokerUrl, namespace] = process.argv.slice(2);
const mesh = await openMesh({ url, redisUrl: '', brokerUrl, namespace });
await startParts([...mesh.publisher(), ...mesh.sender()], { log: mesh.log });
process.stdout.write(`${JSON.stringify({ started: true })}\n`);
process.stdin.resume().once('end', () => process.exit(0));
