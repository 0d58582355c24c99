/** `jp evidence report`: a sample of decisions as an audit sheet. */
import {
  DecisionSheet,
  type DecisionRow,
  reportToCsv,
  reportToMarkdown,
  Sample,
} from "../../../proof/index.ts";
import { JpError } from "../../../util/index.ts";
import { type CommandContext, warn } from "../../context.ts";
import type { Call } from "../../define.ts";
import { usageError } from "../../exit-status.ts";
import { selectConversations } from "./export.ts";
import { expectedKeyOf, verifyIn } from "./verify.ts";
import type { REPORT } from "./options.ts";
import type { FlagsOf } from "../../options.ts";

export async function printReport({ args, options, context }: Call<typeof REPORT>): Promise<void> {
  const [file] = args;
  const { output } = context;
  const { sample: size, seed, by, format } = options;
  const sample = new Sample(size, seed);
  const add = (rows: readonly DecisionRow[]) =>
    sample.add(rows.filter(({ kind }) => by === undefined || by.some((each) => each === kind)));
  if (file === undefined) await readWorkspace(options, context, add);
  else await readEvidence({ ...options, file }, context, add);
  const { rows, total } = sample;
  const lines = format === "csv" ? reportToCsv(rows) : reportToMarkdown(rows, { total, seed });
  for (const line of lines) output.print(line);
}

type AddRows = (rows: readonly DecisionRow[]) => void;

async function readWorkspace(
  options: FlagsOf<typeof REPORT>,
  context: CommandContext,
  add: AddRows,
): Promise<void> {
  if (options.key !== undefined) throw usageError("--key requires a file.");
  const store = context.workspace.conversations;
  const { conversations } = await selectConversations(options, context);
  for (const id of conversations) {
    const sheet = new DecisionSheet(id);
    let unread = 0;
    for await (const read of store.readChain?.(id) ?? []) {
      if ("problem" in read) unread += 1;
      else add(sheet.read(read.link));
    }
    add(sheet.end());
    if (unread > 0) warn(`${id}: ${unread} lines of its chain could not be read.`, context.output);
  }
}

/** Throws `usage`, `file_not_read`, `evidence_not_verified`. */
async function readEvidence(
  { file, key, conversation, since }: FlagsOf<typeof REPORT> & { readonly file: string },
  context: CommandContext,
  add: AddRows,
): Promise<void> {
  if (conversation !== undefined || since !== undefined) {
    throw usageError("--conversation and --since do not go with a file.");
  }
  let sheet: DecisionSheet | undefined;
  const { problems } = await verifyIn(file, context, {
    ...(key !== undefined && { expectedKey: expectedKeyOf(key, context) }),
    onLink: (statement) => {
      if (sheet?.conversation !== statement.conversation) {
        if (sheet !== undefined) add(sheet.end());
        sheet = new DecisionSheet(statement.conversation);
      }
      add(sheet.read(statement.link));
    },
  });
  if (sheet !== undefined) add(sheet.end());
  const [problem] = problems;
  if (problem === undefined) return;
  const message = `${file} is not verified: ${problem.code} in line ${problem.line}.`;
  throw new JpError("evidence_not_verified", message, {
    hint: "`jp evidence verify` says what is wrong with it.",
  });
}
