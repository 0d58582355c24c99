/** `jp trust`: what the workspace would have run or reached, and whether it may. */
import { foldLayers } from "../../config/index.ts";
import { neutralize } from "../../render/index.ts";
import { listClaims } from "../claim-text.ts";
import type { Call } from "../define.ts";
import { ExitStatus } from "../exit-status.ts";
import { loadConfig } from "../load-config.ts";
import { findPresentPerson } from "../prompter.ts";
import { askTrust, trustClaims, untrustedClaims } from "../trust.ts";
import { findConversation } from "./query/open-conversation.ts";

export interface TrustFlags {
  /** A conversation whose config is looked at, too; without it, the one that a query would go on with. */
  readonly id?: string;
  readonly yes?: boolean;
  readonly forget?: boolean;
}

export async function trust({ options, context }: Call<TrustFlags>): Promise<void> {
  const { output, workspace } = context;
  if (options.forget === true) {
    await workspace.trust.forget();
    output.notice(neutralize(`Nothing of ${workspace.root} is trusted any more.`));
    return;
  }
  const id = await findConversation(context, options);
  const layers = await loadConfig(context, id === undefined ? {} : { id });
  const claims = await untrustedClaims(context, layers, id);
  if (claims.length === 0) {
    output.notice("There is nothing here that waits to be trusted.");
    return;
  }
  const person = findPresentPerson(context, foldLayers(layers), {});
  const canAsk = options.yes !== true && person?.canAsk() === true;
  // Whoever is asked sees them with the question.
  if (!canAsk) for (const line of listClaims(claims)) output.print(neutralize(line));
  const isTrusted = canAsk ? await askTrust(person, claims) : options.yes === true;
  if (isTrusted) await trustClaims(workspace, claims);
  output.notice(isTrusted ? "Trusted." : "Not trusted: it is not used.");
  if (!isTrusted) throw new ExitStatus(1);
}
