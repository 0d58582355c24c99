/** The moment at which an event is recorded. */
import { type Timestamp, timestampFromDate } from "../conversation/index.ts";
import type { Clock } from "../util/index.ts";

export function timestampOf(clock: Clock): Timestamp {
  return timestampFromDate(clock.now());
}
