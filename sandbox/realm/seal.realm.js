// Part 8: put the lockdown in place and hand the host its entry points.

installTimers();
claimTimeAfterCrypto();
installSmallGlobals();
installConsole();
installFetch();
installResponse();
trimWebClasses();
refuseSharedMemory();
if (!usesWasm) refuseWasmFromBytes();
boundNormalize();
guardEventTarget();
sealModuleRecords();
guardUncaught();
forbidCodeFromStrings();
removeGlobals();
installGlobalFacade();
// Without a prototype, accessors put on Object.prototype are not reachable as bare identifiers, where their `this` would
// be the real global object.
ReflectSetPrototypeOf(globalThisReal, null);

register("deliver", deliver);
register("defineModule", defineModule);
register("linkModule", linkModule);
register("instantiateModule", instantiateModule);
register("evaluateEntrypoint", evaluateEntrypoint);
register("installEnv", installEnv);
