/** The backend of a turn. What asks models is loaded with the first inquiry: most turns have none. */
import { loaderOf } from "../../util/index.ts";
import type { InquiryBackendOptions } from "./backend.ts";
import type { InquiryBackend } from "./port.ts";

/** Creates a backend that asks a model on a copy of the conversation. Its inquiries may throw `module_not_loaded`. */
export function createInquiryBackend(options: InquiryBackendOptions): InquiryBackend {
  let backend: InquiryBackend | undefined;
  return {
    async inquire(call) {
      const loaded = await loadBackend();
      backend ??= loaded.createInquiryBackend(options);
      return backend.inquire(call);
    },
  };
}

/** Throws `module_not_loaded`. */
export async function preloadInquiries(): Promise<void> {
  await loadBackend();
}

const loadBackend = loaderOf(() => import("./backend.ts"));
