import type { PluginErrorKind } from '@device-core/plugin-api';

const kind = (code: string, status: PluginErrorKind['status'], template: string): PluginErrorKind => ({
  code: `plugin.simulator.${code}`,
  status,
  template,
});

export const SCENARIO_INVALID = kind('SCENARIO_INVALID', 400, 'cannot use scenario {scenario}: line {line}: {reason}');
export const SCENARIO_NOT_FOUND = kind('SCENARIO_NOT_FOUND', 404, 'there is no scenario {scenario}{suggestion}');
export const SCENARIO_FAILED = kind(
  'SCENARIO_FAILED',
  409,
  'step {step} of scenario {scenario} (line {line}, {do}) failed: {reason}',
);
export const SCENARIO_BUSY = kind('SCENARIO_BUSY', 409, 'cannot {verb}: scenario {scenario} is being {doing}');
export const SCENARIO_KEPT = kind('SCENARIO_KEPT', 409, 'cannot {verb} scenario {scenario}: {reason}');
