/** `jp trust`: what the workspace would have run or reached, and whether it may. */
import { foldLayers } from "../../../config/index.ts";
import { neutralize } from "../../../render/index.ts";
import { listClaims, trustQuestion } from "../../../trust/index.ts";
import type { Call } from "../../define.ts";
import { ExitStatus } from "../../exit-status.ts";
import { loadConfig } from "../../load-config.ts";
import { findPresentPerson } from "../../prompter.ts";
import { findConversation } from "../query/conversation.ts";
import { askTrust, workspaceTrust } from "../../trust.ts";

export interface TrustFlags {
  /** A conversation whose config is looked at, too; without it, the one that a query would go on with. */
  readonly id?: string;
  readonly yes?: boolean;
  readonly forget?: boolean;
}

export async function trust({ options, context }: Call<TrustFlags>): Promise<void> {
  const { output, workspace } = context;
  const trusted = workspaceTrust(context, workspace);
  if (options.forget === true) {
    await trusted.forget();
    output.notice(neutralize(`Nothing of ${workspace.root} is trusted any more.`));
    return;
  }
  const id = await findConversation(context, options);
  const layers = await loadConfig(context, id === undefined ? {} : { id });
  const claims = await trusted.findUntrusted(layers, id);
  if (claims.length === 0) {
    output.notice("There is nothing here that waits to be trusted.");
    return;
  }
  const person = findPresentPerson(context, foldLayers(layers), {});
  const canAsk = options.yes !== true && person?.canAsk() === true;
  // Whoever is asked sees them with the question.
  if (!canAsk) for (const line of listClaims(claims)) output.print(neutralize(line));
  const isTrusted = canAsk ? await askTrust(person, trustQuestion(claims)) : options.yes === true;
  if (isTrusted) await trusted.trust(claims);
  output.notice(isTrusted ? "Trusted." : "Not trusted: it is not used.");
  if (!isTrusted) throw new ExitStatus(1);
}
