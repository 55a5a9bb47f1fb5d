import type {
	ATTR_MESSAGING_DESTINATION_NAME,
	ATTR_MESSAGING_DESTINATION_SUBSCRIPTION_NAME,
	ATTR_MESSAGING_MESSAGE_ID,
	ATTR_MESSAGING_OPERATION_NAME,
	ATTR_MESSAGING_OPERATION_TYPE,
	ATTR_MESSAGING_SYSTEM_NAME,
} from '@opentelemetry/semantic-conventions/incubating';
import type { SpanAttributes } from './span.js';

// The names are checked against OpenTelemetry's own and written out here: loading its list costs every service a megabyte.
const SYSTEM: typeof ATTR_MESSAGING_SYSTEM_NAME = 'messaging.system.name';
const OPERATION_NAME: typeof ATTR_MESSAGING_OPERATION_NAME = 'messaging.operation.name';
const OPERATION_TYPE: typeof ATTR_MESSAGING_OPERATION_TYPE = 'messaging.operation.type';
const DESTINATION: typeof ATTR_MESSAGING_DESTINATION_NAME = 'messaging.destination.name';
const SUBSCRIPTION: typeof ATTR_MESSAGING_DESTINATION_SUBSCRIPTION_NAME = 'messaging.destination.subscription.name';
const MESSAGE_ID: typeof ATTR_MESSAGING_MESSAGE_ID = 'messaging.message.id';

/** A broker's message in a step: which broker, what is done, where, and for which record of which tenant, as far as that is known. */
export type MessagingStep = {
	readonly system: string;
	readonly operation: 'send' | 'process' | 'settle';
	readonly topic: string;
	readonly subscription?: string;
	readonly messageId?: string;
	readonly recordId?: string;
	readonly tenantId?: string;
};

/** The attributes of a step that handles a message, by OpenTelemetry's conventions; ours begin with `tidings.`. */
export function messagingAttributes(step: MessagingStep): SpanAttributes {
	return {
		[SYSTEM]: step.system,
		[OPERATION_NAME]: step.operation,
		[OPERATION_TYPE]: step.operation,
		[DESTINATION]: step.topic,
		[SUBSCRIPTION]: step.subscription,
		[MESSAGE_ID]: step.messageId,
		'tidings.record.id': step.recordId,
		'tidings.tenant.id': step.tenantId,
	};
}
