/** `jp trust`: shows what the workspace would run or connect to, and asks whether to allow it. */
import { workspaceInstructions, workspaceTrust } from "../../assemble/index.ts";
import { foldLayers } from "../../settings/config/index.ts";
import type { InquiryId } from "../../record/conversation/index.ts";
import { booleanQuestion } from "../../record/tool/index.ts";
import { listClaims, trustQuestion } from "../../settings/trust/index.ts";
import { JpError, neutralize } from "../../util/index.ts";
import type { CommandContext } from "../context.ts";
import { workspaceCommands } from "../custom-commands.ts";
import type { Call } from "../define.ts";
import { ExitStatus } from "../exit-status.ts";
import { loadConfig } from "../load-config.ts";
import { findQuietPrompter } from "../prompter.ts";
import { askTrust } from "../trust.ts";
import { findConversation } from "./query/conversation.ts";
import type { TRUST } from "./options.ts";
import type { FlagsOf } from "../options.ts";

export async function trust({ options, context }: Call<typeof TRUST>): Promise<void> {
  const { output, workspace } = context;
  const trusted = workspaceTrust(context, workspace);
  if (options.forget === true) {
    await trusted.forget();
    output.notice(neutralize(`Revoked all trust in ${workspace.root}`));
    return;
  }
  await askWhetherMoved(context, options);
  const id = await findConversation(context, options.id);
  const layers = await loadConfig(context, id === undefined ? {} : { id });
  const instructions = [
    ...workspaceInstructions(context, layers),
    ...(await workspaceCommands(context)),
  ];
  const claims = await trusted.findUntrusted(layers, id, instructions);
  if (claims.length === 0) {
    output.notice("Nothing here needs to be trusted.");
    return;
  }
  const prompter = findQuietPrompter(context, foldLayers(layers), {});
  const canAsk = options.yes !== true && prompter?.canAsk() === true;
  // A prompt lists them itself.
  if (!canAsk) for (const line of listClaims(claims)) output.print(neutralize(line));
  const isTrusted = canAsk ? await askTrust(prompter, trustQuestion(claims)) : options.yes === true;
  if (isTrusted) await trusted.trust(claims);
  output.notice(isTrusted ? "Trusted." : "Not trusted. jp ignores these settings.");
  if (!isTrusted) throw new ExitStatus(1);
}

/** `--yes` covers the workspace's config. Only a person knows whether a folder was moved or copied. */
async function askWhetherMoved(
  context: CommandContext,
  { yes }: FlagsOf<typeof TRUST>,
): Promise<void> {
  const { workspace } = context;
  const former = workspace.findFormerRoot();
  if (former === undefined) return;
  const person = yes === true ? undefined : findQuietPrompter(context, {}, {});
  if (person?.canAsk() !== true) {
    throw new JpError("workspace_moved", `Was this workspace moved here from ${former}?`, {
      hint: "Run `jp trust` on a terminal to say so, and keep your sessions and local conversations.",
    });
  }
  const question = booleanQuestion("moved", "Was this workspace moved here?", {
    context: [
      `It has the id of a workspace that was at ${former}.`,
      "If yes, your sessions and local conversations of that workspace are used here.",
      "If no, this workspace starts without any. A clone may have brought the id.",
    ].join("\n"),
    persistence: "none",
    acts: true,
  });
  const { signal } = new AbortController();
  // The question is not part of any conversation.
  const result = await person.ask({ inquiryId: "moved" as InquiryId, question, signal });
  if (result.type !== "answered") throw new ExitStatus(1);
  await workspace.adopt(result.answer === true);
}
