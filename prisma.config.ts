import { defineConfig } from 'prisma/config';

/** What Prisma's command line needs to know. The URL matters only to commands that connect; our own runner applies the migrations. */
export default defineConfig({
	schema: 'prisma/schema.prisma',
	migrations: { path: 'prisma/migrations' },
});
