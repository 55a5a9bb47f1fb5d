import type { Outcome, Refusal } from '@tidings/model';
import type { Span } from '@tidings/telemetry';
import type { DeliveryContext } from './context.js';
import type { HeldMessage } from './message.js';
import { outcomeLabel } from './outcome-label.js';

/** Makes a provider call a step of the message's trace, which ends as the call does: with what the provider answered, but for its text, which may quote the mail. */
export async function traceCall(
	{ provider }: DeliveryContext,
	message: HeldMessage,
	send: (span: Span) => Promise<Outcome>,
): Promise<Outcome> {
	const { recordId, tenantId } = message;
	const attributes = { 'tidings.record.id': recordId, 'tidings.tenant.id': tenantId };
	const span = message.span.child(`${provider.name} send`, { kind: 'client', attributes });
	try {
		const outcome = await send(span);
		span.set({ 'tidings.outcome': outcome.kind === 'given-back' ? outcome.kind : outcomeLabel(outcome) });
		const refusal = refusalIn(outcome);
		if (refusal !== null) {
			const { stage, code, enhancedCode, category } = refusal;
			span.set({ 'tidings.stage': stage, 'tidings.code': code ?? undefined, 'tidings.enhanced_code': enhancedCode ?? undefined });
			span.fail(category);
		}
		return outcome;
	} catch (error) {
		span.fail('unexpected');
		throw error;
	} finally {
		span.end();
	}
}

/** The first no. */
function refusalIn(outcome: Outcome): Refusal | null {
	if (outcome.kind === 'ambiguous') return outcome;
	if (outcome.kind !== 'answered') return null;
	for (const one of outcome.recipients) if (one.kind === 'refused') return one;
	return null;
}
