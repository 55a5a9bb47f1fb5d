const RFC_3339 = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.\d{1,9})?(?:Z|[+-](\d{2}):(\d{2}))$/i;
const EARLIEST = Date.UTC(2000, 0, 1);
/** Later ones have another spelling, which neither RFC 3339 nor the database shares. */
const END = Date.UTC(10_000, 0, 1);

/** Reads an RFC 3339 time with a zone, from the year 2000 (or `earliest`, in milliseconds) to 9999 in UTC, to the millisecond. Null when it is none, or a day that no calendar has. */
export function readTime(text: string, earliest = EARLIEST): Date | null {
	const match = RFC_3339.exec(text);
	if (match === null) return null;
	const [year, month, day, hour, minute, second, zoneHour, zoneMinute] = match.slice(1).map((part) => Number(part ?? 0));
	if (year === undefined || month === undefined || day === undefined) return null;
	const date = new Date(Date.UTC(year, month - 1, day));
	const isDay = date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
	const isClock = (hour ?? 0) < 24 && (minute ?? 0) < 60 && (second ?? 0) < 60 && (zoneHour ?? 0) < 24 && (zoneMinute ?? 0) < 60;
	const time = new Date(text.toUpperCase());
	return isDay && isClock && time.getTime() >= earliest && time.getTime() < END ? time : null;
}
