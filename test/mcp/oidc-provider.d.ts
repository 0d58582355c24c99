/** The parts of `oidc-provider` that tests use; it ships no types. */
declare module "oidc-provider" {
  import type { IncomingMessage, ServerResponse } from "node:http";

  interface Grant {
    addOIDCScope(scope: string): void;
    addResourceScope(resource: string, scope: string): void;
    save(): Promise<string>;
  }

  interface AccessToken {
    readonly accountId?: string;
    readonly scope?: string;
    readonly isExpired: boolean;
  }

  export class Provider {
    constructor(issuer: string, configuration: object);
    callback(): (request: IncomingMessage, response: ServerResponse) => void;
    interactionFinished(
      request: IncomingMessage,
      response: ServerResponse,
      result: object,
      options?: object,
    ): Promise<void>;
    readonly Grant: new (properties: object) => Grant;
    readonly AccessToken: { find(token: string): Promise<AccessToken | undefined> };
    on(event: string, listener: (...args: readonly unknown[]) => void): this;
  }
}
