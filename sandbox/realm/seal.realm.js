// Part 8: put the lockdown in place and hand the host its entry points.

installTimers();
installSmallGlobals();
installConsole();
installFetch();
installResponse();
trimWebClasses();
guardEventTarget();
sealModuleClasses();
forbidCodeFromStrings();
removeGlobals();
installGlobalFacade();
// Without a prototype, accessors put on Object.prototype are not reachable as bare identifiers, where their `this` would
// be the real global object.
Reflect.setPrototypeOf(globalThisReal, null);

register("deliver", deliver);
register("defineModule", defineModule);
register("linkModule", linkModule);
register("instantiateModule", instantiateModule);
// A promise must not cross the wall.
register("evaluateComponents", (json, done) => {
  evaluateComponents(json, done);
});
register("describeExports", describeExports);
register("installEnv", installEnv);
