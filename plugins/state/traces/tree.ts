/** The spans of a trace as they stand below each other, each level in the order of time. */
import type { Span } from '@device-core/plugin-api/tracing';

export interface Branch {
  readonly span: Span;
  /** `├─ function agenda.today`, for eyes. */
  readonly tree: string;
}

export function treeOf(spans: readonly Span[]): readonly Branch[] {
  const ids = new Set(spans.map(({ spanId }) => spanId));
  const below = new Map<string, Span[]>();
  const tops: Span[] = [];
  for (const span of [...spans].sort((one, other) => one.began - other.began)) {
    const { parent } = span;
    if (parent === undefined || !ids.has(parent) || parent === span.spanId) tops.push(span);
    else below.set(parent, [...(below.get(parent) ?? []), span]);
  }
  const branches: Branch[] = [];
  // Invented ids may close a circle, so each span stands in the tree once.
  const seen = new Set<Span>();
  const put = (span: Span, head: string, indent: string): void => {
    if (seen.has(span)) return;
    seen.add(span);
    branches.push({ span, tree: head + span.name });
    const inner = below.get(span.spanId) ?? [];
    inner.forEach((one, at) => {
      const last = at === inner.length - 1;
      put(one, `${indent}${last ? '└─ ' : '├─ '}`, `${indent}${last ? '   ' : '│  '}`);
    });
  };
  for (const span of tops) put(span, '', '');
  for (const span of spans) put(span, '', '');
  return branches;
}
