/** A column that holds sealed fields; its table has `id` and `tenant_id`, to which each field is bound besides. */
export type SealedColumn = { readonly table: string; readonly column: string };

/** Every column with sealed fields. One that is missing here would be left behind when keys are rotated: a test compares this with the database. */
export const SEALED_COLUMNS: readonly SealedColumn[] = [
	{ table: 'mail_send_server_config', column: 'password_sealed' },
	{ table: 'mail_send_server_config', column: 'dkim_key_sealed' },
];
