/** `jp trust`: shows what the workspace would run or connect to, and asks whether to allow it. */
import { foldLayers } from "../../config/index.ts";
import { neutralize } from "../../render/index.ts";
import { listClaims, trustQuestion } from "../../trust/index.ts";
import type { Call } from "../define.ts";
import { ExitStatus } from "../exit-status.ts";
import { loadConfig } from "../load-config.ts";
import { findQuietPrompter } from "../prompter.ts";
import { askTrust, workspaceInstructions, workspaceTrust } from "../trust.ts";
import { findConversation } from "./query/conversation.ts";

export interface TrustFlags {
  /** Include this conversation's config; by default, that of the one a query would continue. */
  readonly id?: string;
  readonly yes?: boolean;
  readonly forget?: boolean;
}

export async function trust({ options, context }: Call<TrustFlags>): Promise<void> {
  const { output, workspace } = context;
  const trusted = workspaceTrust(context, workspace);
  if (options.forget === true) {
    await trusted.forget();
    output.notice(neutralize(`Revoked all trust in ${workspace.root}`));
    return;
  }
  const id = await findConversation(context, options.id);
  const layers = await loadConfig(context, id === undefined ? {} : { id });
  const instructions = workspaceInstructions(context, layers);
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
