import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { SETTINGS, settingsTable } from '@tidings/runtime';
import { type TProperties, Type } from 'typebox';

const services = join(import.meta.dirname, '../../services');

/** The page of every setting, service by service. Rejects when a service with a config.ts does not show its settings. */
export async function describeConfig(): Promise<string> {
	const names = readdirSync(services).filter((name) => existsSync(join(services, name, 'src/config.ts')));
	const own = await Promise.all(names.sort().map(async (name) => ({ name, settings: await settingsOf(name) })));
	const shared = Object.entries(SETTINGS).filter(([name]) => !own.some(({ settings }) => name in settings));
	return `# Settings

Settings are environment variables, read once at the start; every fault is reported at once. Each may also be given as a file: \`DATABASE_URL_FILE\` names
a file that holds the value of \`DATABASE_URL\`. A service checks its settings without connecting to anything under \`--check-config\`, and explains those
that it reads under \`--help\`.

${settingsTable('shared by the services', Type.Object(Object.fromEntries(shared)))}
${own.map(({ name, settings }) => settingsTable(name, Type.Object(settings))).join('\n')}`;
}

/** What a service adds to the shared settings: the export of its face whose name ends with _SETTINGS. */
async function settingsOf(service: string): Promise<TProperties> {
	const face: Record<string, TProperties> = await import(`@tidings/${service}`);
	const found = Object.entries(face).find(([name]) => name.endsWith('_SETTINGS'));
	if (found === undefined) throw new Error(`services/${service}/src/index.ts exports no …_SETTINGS, though the service has a config.ts`);
	return found[1];
}
