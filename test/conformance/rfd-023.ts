// Requirements from RFD 023 (resumable conversation turns), and the policy `defer` of RFD 027.
import type { Requirement } from "./requirement.ts";

export const rfd023: readonly Requirement[] = [
  {
    id: "023/detect/by-what-is-missing",
    source: "RFD 023, Detecting an incomplete turn",
    text:
      "A turn is incomplete if its request has no reply, a call has no response, or no reply follows " +
      "the last response. What is missing says where it is resumed.",
    state: "met",
  },
  {
    id: "023/resume/finished-calls-are-kept",
    source: "RFD 023, Turn Loop Resumption",
    text: "A resumed turn runs the calls that have no response, and sends all results to the model.",
    state: "met",
  },
  {
    id: "023/prompt/menu",
    source: "RFD 023, Interactive mode (TTY)",
    text:
      "On a terminal, a query that meets an incomplete turn shows what is missing, and offers to " +
      "resume it, discard it or quit.",
    state: "met",
  },
  {
    id: "023/prompt/error-without-a-terminal",
    source: "RFD 023, Non-interactive mode (no TTY)",
    text: "Without a terminal, such a query fails, and names --continue-turn and --discard-turn.",
    state: "met",
  },
  {
    id: "023/flags/continue-takes-no-message",
    source: "RFD 023, Non-Goals",
    text: "--continue-turn resumes a turn as it is, without a new message.",
    state: "met",
  },
  {
    id: "023/flags/discard",
    source: "RFD 023, `--continue-turn` and `--discard-turn` Flags",
    text: "--discard-turn drops the incomplete turn.",
    state: "met",
    deviation:
      "jp closes what is open on record, and removes nothing. The record says what was asked and that " +
      "the turn was discarded.",
  },
  {
    id: "023/display/ls",
    source: "RFD 023, `conversation ls`",
    text: "The list of conversations shows the state of an incomplete turn, without a full parse.",
    state: "met",
  },
  {
    id: "023/display/print",
    source: "RFD 023, `conversation print`",
    text: "A printed conversation ends with its incomplete turn, and says what is missing.",
    state: "met",
  },
  {
    id: "027/defer/leaves-it-open",
    source: "RFD 027, The `defer` Detached Policy",
    text:
      "Under `defer`, other calls complete and their results are recorded. What needs a person stays " +
      "open on record, and the process exits.",
    state: "met",
    deviation:
      "It is not the default: without a terminal, the policies of RFD 049 apply. There is no server " +
      "process; any process can resume the turn.",
  },
];
