// Owns the requirements taken from RFD 083 (built-in ask_user tool), gathered from its topic files.
import type { Requirement } from "./requirement.ts";
import { rfd083AskUser } from "./rfd-083-ask-user.ts";
import { rfd083Question } from "./rfd-083-question.ts";

export const rfd083: readonly Requirement[] = [...rfd083AskUser, ...rfd083Question];
