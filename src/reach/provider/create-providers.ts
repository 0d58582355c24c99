/** The table of providers, loaded on demand. */
import { loadModule } from "../../util/index.ts";
import type { Providers, ProvidersOptions } from "./providers.ts";

/** Makes no request by itself, and loads the providers on first use. */
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
