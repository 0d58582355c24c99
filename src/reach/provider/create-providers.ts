/** The table of providers, for programs that may never ask one of them. */
import { loadModule } from "../../util/index.ts";
import type { Providers, ProvidersOptions } from "./providers.ts";

/** Makes no request by itself, and loads the providers when one of them is first asked. */
export function createProviders(options: ProvidersOptions): Providers {
  let created: Providers | undefined;
  const create = async () => {
    const { createProvidersNow } = await loadModule(() => import("./providers.ts"));
    return (created ??= createProvidersNow(options));
  };
  return {
    model: async (provider, name) => (await create()).model(provider, name),
    list: async (provider, signal) => (await create()).list(provider, signal),
    warmUp: async (provider, name) => (await create()).warmUp(provider, name),
  };
}
