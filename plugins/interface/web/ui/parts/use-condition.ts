/**
 * The state of the device, as the pages that tell it follow it: plugins, what they say of themselves, and whether they
 * are on their way.
 */
import { useEffect, useState } from 'preact/hooks';
import { useAsk, useEvents, useVisible } from './ask.ts';
import { isMoving, rowsOf } from './condition.ts';
import type { Health, Plugin } from './shapes.ts';

/** Warnings come and go without an event. */
const LOOK_MS = 15_000;
/** After the last plugin came, others find out what that means for them. */
const SETTLE_MS = 1_500;
const CALM_MS = 2_500;

export function useCondition() {
  const plugins = useAsk<{ readonly plugins: readonly Plugin[] }>('/plugins');
  const health = useAsk<Health>('/health');
  const visible = useVisible();
  const [calm, setCalm] = useState(true);
  useEvents(['plugin.state', 'plugin.changed', 'bridge.link'], (items) => {
    plugins.reload(items);
    health.reload(items);
  });
  useEffect(() => {
    if (!visible) return;
    const timer = setInterval(health.reload, LOOK_MS);
    return () => clearInterval(timer);
  }, [visible]);
  const list = plugins.data?.plugins ?? [];
  const moves = list.some(isMoving);
  useEffect(() => {
    if (moves) setCalm(false);
    if (moves || calm) return;
    const timers = [setTimeout(health.reload, SETTLE_MS), setTimeout(() => setCalm(true), CALM_MS)];
    return () => timers.forEach(clearTimeout);
  }, [moves, calm]);
  return { plugins, health, rows: rowsOf(list, health.data, calm) };
}
