// Requirements from RFD 083 (built-in ask_user tool), collected from the files by topic.
import type { Requirement } from "./requirement.ts";
import { rfd083AskUser } from "./rfd-083-ask-user.ts";
import { rfd083Question } from "./rfd-083-question.ts";

export const rfd083: readonly Requirement[] = [...rfd083AskUser, ...rfd083Question];
