/**
 * Finds turn starts, config deltas and compactions among the entries of a record by how their texts begin, so that the
 * others need not be read. jp writes entries as `JSON.stringify` does, and the time and the type of an event first.
 *
 * The conditions are those of partial indexes: a migration that is released has their text, so they never change.
 */

/** Longer than everything before the second field of any event. */
const HEAD = "left(entry, 100)";
const BEFORE_TYPE = String.raw`^\{"timestamp":"[^"\\]{0,40}","type":"`;

/** Certainly a turn start. */
export const IS_START = `${HEAD} ~ '${BEFORE_TYPE}turn_start"[,}]'`;

/** Not certainly an event other than a turn start. Few entries are: config deltas, compactions, and what others have written. */
export const IS_OTHER = `${HEAD} !~ '${BEFORE_TYPE}(?!(jp_ts_)?config_delta"|compaction")[a-z_]+"'`;

/** Where the last of these turns starts, if that is certain. `conversation` and `end` are SQL. */
export function lastStartSql(tenant: string, conversation: string, end: string): string {
  return `(select seq from jp.events where tenant = ${tenant} and conversation = ${conversation}
    and seq < ${end} and ${IS_START} order by seq desc limit 1)`;
}
