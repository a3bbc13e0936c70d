// Tokens, principals and Spaces, for admins.
import { Elysia } from "elysia";
import { rfc3339 } from "../../base/clock.ts";
import { AtollError } from "../../base/errors.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import type { Permission } from "../../control/principals/caller.ts";
import { ALL_PERMISSIONS } from "../../control/principals/principals.ts";
import { authenticateAdmin } from "../auth.ts";
import { MethodNotAllowed } from "../problem.ts";
import { readJsonObject, readQuery } from "../request.ts";
import { jsonResponse, NO_STORE } from "../response.ts";
import type { OperatorContext } from "./operator-context.ts";

const BODY_BYTES_MAX = 64 * 1024;

export function tokenRoutes({ principals }: OperatorContext) {
  return new Elysia({ name: "operator-tokens", strictPath: true })
    .get("/tokens", ({ request }) => {
      authenticateAdmin(request, principals);
      readQuery(request, []);
      const items = principals.tokens().map((token) => ({
        id: token.id,
        principal: token.principal,
        spaces: principals.spacesOf(token.principal),
        label: token.label,
        createdAt: rfc3339(token.createdAtMs),
        revokedAt: token.revokedAtMs === null ? null : rfc3339(token.revokedAtMs),
      }));
      return jsonResponse({ items });
    })
    .post(
      "/tokens",
      async ({ request }) => {
        authenticateAdmin(request, principals);
        const { object } = await readJsonObject(request, BODY_BYTES_MAX);
        requireOnly(object, ["principal", "spaces", "permissions", "admin", "label"]);
        const { principal, spaces = [], permissions, admin = false, label = "" } = object;
        if (typeof principal !== "string") throw new AtollError("invalid_request", "principal must be a string");
        if (typeof admin !== "boolean") throw new AtollError("invalid_request", "admin must be true or false");
        if (typeof label !== "string") throw new AtollError("invalid_request", "label must be a string");
        const issued = principals.issue({
          principal,
          spaces: strings(spaces, "spaces"),
          permissions: permissions === undefined ? ALL_PERMISSIONS : decodePermissions(permissions),
          admin,
          label,
        });
        return jsonResponse(issued, 201);
      },
      { parse: "none" },
    )
    .all("/tokens", () => {
      throw new MethodNotAllowed(["GET", "HEAD", "POST"]);
    })
    .delete("/tokens/:id", ({ request, params }) => {
      authenticateAdmin(request, principals);
      principals.revoke(params.id);
      return new Response(null, { status: 204, headers: NO_STORE });
    })
    .all("/tokens/:id", () => {
      throw new MethodNotAllowed(["DELETE"]);
    });
}

export function spaceRoutes({ principals }: OperatorContext) {
  return new Elysia({ name: "operator-spaces", strictPath: true })
    .get("/spaces", ({ request }) => {
      authenticateAdmin(request, principals);
      readQuery(request, []);
      return jsonResponse({ items: principals.spaces().map(encodeSpace) });
    })
    .post(
      "/spaces",
      async ({ request }) => {
        authenticateAdmin(request, principals);
        const { object } = await readJsonObject(request, BODY_BYTES_MAX);
        requireOnly(object, ["name"]);
        if (typeof object["name"] !== "string") throw new AtollError("invalid_request", "name must be a string");
        const { space, created } = principals.createSpace(object["name"]);
        return jsonResponse(encodeSpace(space), created ? 201 : 200);
      },
      { parse: "none" },
    )
    .all("/spaces", () => {
      throw new MethodNotAllowed(["GET", "HEAD", "POST"]);
    });
}

export function principalRoutes({ principals }: OperatorContext) {
  return new Elysia({ name: "operator-principals", strictPath: true })
    .get("/principals", ({ request }) => {
      authenticateAdmin(request, principals);
      readQuery(request, []);
      const items = principals.principals().map(({ id, admin, grants }) => ({
        principal: id,
        admin,
        grants: grants.map((grant) => ({
          space: grant.space,
          permissions: ALL_PERMISSIONS.filter((permission) => grant[permission]),
        })),
      }));
      return jsonResponse({ items });
    })
    .all("/principals", () => {
      throw new MethodNotAllowed(["GET", "HEAD"]);
    })
    .put(
      "/principals/:principal/spaces/:space",
      async ({ request, params }) => {
        authenticateAdmin(request, principals);
        const { object } = await readJsonObject(request, BODY_BYTES_MAX);
        requireOnly(object, ["permissions"]);
        const permissions = decodePermissions(object["permissions"]);
        principals.setGrant(params.principal, params.space, permissions);
        return jsonResponse({ principal: params.principal, space: params.space, permissions });
      },
      { parse: "none" },
    )
    .all("/principals/:principal/spaces/:space", () => {
      throw new MethodNotAllowed(["PUT"]);
    });
}

function encodeSpace(space: { readonly name: string; readonly createdAtMs: number }) {
  return { name: space.name, createdAt: rfc3339(space.createdAtMs) };
}

function decodePermissions(value: Json | undefined): readonly Permission[] {
  const named = strings(value, "permissions");
  if (!named.every((name) => ALL_PERMISSIONS.some((permission) => permission === name))) {
    throw new AtollError("invalid_request", `permissions may be ${ALL_PERMISSIONS.join(", ")}`);
  }
  return ALL_PERMISSIONS.filter((permission) => named.includes(permission));
}

function strings(value: Json | undefined, field: string): readonly string[] {
  const valid = Array.isArray(value) && value.every((item) => typeof item === "string");
  if (!valid) throw new AtollError("invalid_request", `${field} must be an array of strings`);
  return value as readonly string[];
}

function requireOnly(body: JsonObject, fields: readonly string[]): void {
  if (Object.keys(body).some((field) => !fields.includes(field))) {
    throw new AtollError("invalid_request", `the body may have only the fields ${fields.join(", ")}`);
  }
}
