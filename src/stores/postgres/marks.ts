/**
 * Finds turn starts, config deltas and compactions among the entries of a record by how their texts begin, so that the
 * others need not be read. jp writes entries as `JSON.stringify` does, and an event starts with its time and its type.
 *
 * The conditions are those of partial indexes, and cost a few microseconds for each entry that is added: regular
 * expressions take ten times as long. A migration that is released has their text, so they never change.
 */

const STARTS_WITH_TIME = `left(entry, 14) = '{"timestamp":"'`;
/** The second field, up to the third. Quotes within the time would be escaped. */
const SECOND = `split_part(left(entry, 64), '","', 2)`;

/** Certainly a turn start. */
export const IS_START = `${STARTS_WITH_TIME} and ${SECOND} in ('type":"turn_start', 'type":"turn_start"}')`;

/**
 * Not certainly an event other than a turn start: a config delta, a compaction, or what others have written. Each has a
 * type that starts with `co` or `jp`, or another layout. No event has.
 */
export const IS_OTHER = `not (${STARTS_WITH_TIME} and ${SECOND} like 'type":"__%' and left(${SECOND}, 9) not in ('type":"co', 'type":"jp'))`;

/** Where the last of these turns starts, if that is certain. `conversation` and `end` are SQL. */
export function lastStartSql(tenant: string, conversation: string, end: string): string {
  return `(select seq from jp.events where tenant = ${tenant} and conversation = ${conversation}
    and seq < ${end} and ${IS_START} order by seq desc limit 1)`;
}
