/** How urgent a message is; each lane has its own topic and its own share of publishing. */
export const LANES = ['urgent', 'normal', 'bulk'] as const;
export type Lane = (typeof LANES)[number];

/** The kinds of message that a person can receive. */
export const CHANNELS = ['MAIL'] as const;
export type Channel = (typeof CHANNELS)[number];

/** A route is a kind of work with a topic per lane; the service that does it is also the name of its subscription. A new channel is one row here and one provider folder. */
export const ROUTES = [{ route: 'mail-send', channel: 'MAIL', service: 'mail-sender' }] as const satisfies readonly {
	route: string;
	channel: Channel;
	service: string;
}[];
export type Route = (typeof ROUTES)[number]['route'];

/** The route that delivers a channel. */
export function routeOf(channel: Channel): Route {
	const row = ROUTES.find((one) => one.channel === channel);
	if (row === undefined) throw new Error(`no route delivers channel ${channel}`);
	return row.route;
}

/** The topic of a route and lane, without tenant and namespace: `mail-send-urgent`. The broker driver adds its namespace. */
export function topicOf(route: string, lane: Lane): string {
	return `${route}-${lane}`;
}

/** The topics of a route, one for each lane, each with the subscription of the service that does the work. */
export function topicsOf(route: Route): { topic: string; subscription: string; lane: Lane }[] {
	const subscription = ROUTES.find((row) => row.route === route)?.service ?? route;
	return LANES.map((lane) => ({ topic: topicOf(route, lane), subscription, lane }));
}

/** The topic of messages that the broker gave up on, for one topic. */
export function deadLetterTopicOf(topic: string): string {
	return `${topic}-DLQ`;
}

/** The dead-letter topics of a route, one for each lane, each with the subscription of the service that archives them. They are made together with the topics: what nobody subscribes to is gone. */
export function deadLettersOf(route: Route): { topic: string; subscription: string; lane: Lane }[] {
	return LANES.map((lane) => ({ topic: deadLetterTopicOf(topicOf(route, lane)), subscription: 'dead-letter', lane }));
}
