// Requirements from RFD 082 (unified recording), collected from the files by topic.
import type { Requirement } from "./requirement.ts";
import { rfd082Lifecycle } from "./rfd-082-lifecycle.ts";
import { rfd082Record } from "./rfd-082-record.ts";
import { rfd082Source } from "./rfd-082-source.ts";

export const rfd082: readonly Requirement[] = [
  ...rfd082Lifecycle,
  ...rfd082Record,
  ...rfd082Source,
];
