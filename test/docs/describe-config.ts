import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { BROKER_SETTINGS, SERVICE_SETTINGS, settingsTable } from '@tidings/runtime';
import { type TProperties, Type } from 'typebox';

const services = join(import.meta.dirname, '../../services');

/** The page of every setting, service by service. Rejects when a service with a config.ts does not show its settings. */
export async function describeConfig(): Promise<string> {
	const names = readdirSync(services).filter((name) => existsSync(join(services, name, 'src/config.ts')));
	const own = await Promise.all(names.sort().map(async (name) => ({ name, settings: await settingsOf(name) })));
	return `# Settings

Settings are environment variables, read once at the start; every fault is reported at once. Each may also be given as a file: \`DATABASE_URL_FILE\` names
a file that holds the value of \`DATABASE_URL\`. A service checks its settings without connecting to anything under \`--check-config\`, and explains those
that it reads under \`--help\`.

${settingsTable('every service that runs by itself', Type.Object(SERVICE_SETTINGS))}
${settingsTable('every service that publishes or consumes', Type.Object(BROKER_SETTINGS))}
${own.map(({ name, settings }) => sectionOf(name, settings)).join('\n')}`;
}

/** What a service reads beyond those that many read. */
function sectionOf(name: string, settings: TProperties): string {
	const shared = Object.values<unknown>({ ...SERVICE_SETTINGS, ...BROKER_SETTINGS });
	const own = Object.entries(settings).filter(([, setting]) => !shared.includes(setting));
	return own.length === 0 ? `## ${name}\n\nIt has no others.\n` : settingsTable(name, Type.Object(Object.fromEntries(own)));
}

/** What a service adds to the shared settings: the export of its face whose name ends with _SETTINGS. */
async function settingsOf(service: string): Promise<TProperties> {
	const face: Record<string, TProperties> = await import(`@tidings/${service}`);
	const found = Object.entries(face).find(([name]) => name.endsWith('_SETTINGS'));
	if (found === undefined) throw new Error(`services/${service}/src/index.ts exports no …_SETTINGS, though the service has a config.ts`);
	return found[1];
}
