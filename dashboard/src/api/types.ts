/** JSON of the REST interface: Flink's shapes, and headrace's own where it has more to tell. */

export interface Overview {
  taskmanagers: number;
  "slots-total": number;
  "slots-available": number;
  "jobs-running": number;
  "jobs-finished": number;
  "jobs-cancelled": number;
  "jobs-failed": number;
  "flink-version": string;
}

export interface ClusterConfig {
  "refresh-interval": number;
  "flink-version": string;
  features: Record<string, boolean>;
}

export interface JobSummary {
  jid: string;
  name: string;
  state: string;
  "start-time": number;
  "end-time": number;
  duration: number;
  tasks: Record<string, number>;
  parallelism?: number;
  restarts?: number;
}

export interface Rates {
  "records-in": number;
  "records-out": number;
  "bytes-in": number;
  "bytes-out": number;
  busy: number;
  "back-pressured": number;
  idle: number;
  "max-busy"?: number;
  watermark?: number | null;
}

export interface IoMetrics {
  "read-bytes": number;
  "write-bytes": number;
  "read-records": number;
  "write-records": number;
  "accumulated-backpressured-time"?: number;
  "accumulated-idle-time"?: number;
  "accumulated-busy-time"?: number;
}

export interface Vertex {
  id: string;
  name: string;
  parallelism: number;
  maxParallelism: number;
  status: string;
  duration: number;
  tasks: Record<string, number>;
  metrics: IoMetrics;
  rates?: Rates;
}

export interface PlanInput {
  num: number;
  id: string;
  ship_strategy: string;
}

export interface PlanOperator {
  id: string;
  name: string;
  uid: string | null;
  keyed: boolean;
}

export interface PlanNode {
  id: string;
  parallelism: number;
  description: string;
  inputs?: PlanInput[];
  level?: number;
  operators?: PlanOperator[];
}

export interface Finding {
  status: string;
  code: string;
  sentence: string;
  advice: string;
  vertex: string | null;
  subtask: number | null;
}

export interface Diagnosis extends Finding {
  findings: Finding[];
}

export interface Job {
  jid: string;
  name: string;
  state: string;
  "start-time": number;
  "end-time": number;
  duration: number;
  now: number;
  maxParallelism: number;
  timestamps: Record<string, number>;
  vertices: Vertex[];
  plan: { nodes?: PlanNode[] };
  diagnosis?: Diagnosis;
}

export interface Subtask {
  subtask: number;
  status: string;
  attempt: number;
  host?: string;
  endpoint?: string;
  "start-time": number;
  duration?: number;
  metrics: IoMetrics;
  rates?: Rates;
  watermark: number | null;
  "hot-key"?: { key: string; share: number } | null;
}

export interface VertexDetails {
  id: string;
  name: string;
  parallelism: number;
  now: number;
  subtasks: Subtask[];
}

export interface BackPressure {
  status: string;
  "backpressure-level": string;
  subtasks: {
    subtask: number;
    "backpressure-level": string;
    ratio: number;
    idleRatio: number;
    busyRatio: number;
  }[];
}

export interface Phase {
  name: string;
  ms: number;
}

export interface Epoch {
  id: number;
  attempt: number;
  "start-time": number;
  duration: number;
  records: number;
  "wait-before": number;
  more: boolean;
  checkpoint: number | null;
  watermark: number | null;
  phases: Phase[];
}

export interface Epochs {
  "target-ms": number;
  total: number;
  epochs: Epoch[];
}

/** A second of a job; only live ones have channels. */
export interface Moment {
  time: number;
  records: number;
  epochs: number;
  p50: number;
  p99: number;
  alignment: number;
  "alignment-bytes": number;
  "in-usage": number;
  "out-usage": number;
  watermark: number | null;
}

export interface Timeline {
  live: boolean;
  moments: Moment[];
}

export interface Distribution {
  min: number;
  max: number;
  avg: number;
  p50?: number;
  p90?: number;
  p99?: number;
}

export interface Checkpoint {
  id: number;
  status: string;
  is_savepoint: boolean;
  trigger_timestamp: number;
  latest_ack_timestamp?: number;
  state_size: number;
  checkpointed_size?: number;
  end_to_end_duration: number;
  num_subtasks?: number;
  num_acknowledged_subtasks?: number;
  external_path?: string;
  failure_message?: string;
  tasks?: Record<string, CheckpointTask>;
}

export interface CheckpointTask {
  id: string;
  status: string;
  state_size: number;
  checkpointed_size?: number;
  end_to_end_duration: number;
  processed_data?: number;
  persisted_data?: number;
  num_subtasks: number;
  num_acknowledged_subtasks: number;
}

export interface Checkpoints {
  counts: { restored: number; total: number; in_progress: number; completed: number; failed: number };
  summary?: Record<string, Distribution>;
  latest: {
    completed: Checkpoint | null;
    savepoint: Checkpoint | null;
    failed: Checkpoint | null;
    restored: { id: number; restore_timestamp: number; external_path?: string } | null;
  };
  history: Checkpoint[];
}

export interface CheckpointConfig {
  mode: string;
  interval: number;
  timeout: number;
  min_pause: number;
  max_concurrent: number;
  state_backend: string;
  checkpoint_storage: string;
  tolerable_failed_checkpoints?: number;
  externalization?: { enabled: boolean; delete_on_cancellation: boolean };
}

export interface ExceptionEntry {
  exceptionName: string;
  stacktrace: string;
  timestamp: number;
  taskName: string | null;
  endpoint: string | null;
}

export interface Exceptions {
  "root-exception": string | null;
  timestamp: number | null;
  exceptionHistory: { entries: ExceptionEntry[]; truncated: boolean };
}

export interface Watermarks {
  watermark: number | null;
  "held-back-by": {
    vertex: string;
    name: string;
    subtask: number;
    split: string | null;
    watermark: number | null;
    "behind-ms": number | null;
  } | null;
  vertices: {
    id: string;
    name: string;
    watermark: number | null;
    subtasks: {
      subtask: number;
      watermark: number | null;
      splits?: { id: string; watermark: number | null; idle: boolean }[];
    }[];
  }[];
}

export interface Setting {
  key: string;
  value: string;
}

export interface JobConfig {
  "execution-config": {
    "execution-mode": string;
    "restart-strategy": string;
    "job-parallelism": number;
    "user-config": Record<string, string>;
  };
  settings?: Setting[];
}

export interface FlameFrame {
  name: string;
  value: number;
  children: FlameFrame[];
}

export interface FlameGraph {
  endTimestamp: number;
  data: FlameFrame | null;
}

export interface LiveRecords {
  operator: { id: string; name: string };
  complete: boolean;
  records: { subtask: number; value: string; timestamp: number | null; key: string | null }[];
}

export interface AllocatedSlot {
  index: number;
  jobId: string;
  jobName?: string;
  pid?: number;
  host?: string;
  subtasks?: { vertex: string; name: string; subtask: number }[];
}

export interface TaskManager {
  id: string;
  path: string;
  slotsNumber: number;
  freeSlots: number;
  host?: string;
  "active-tasks"?: number;
  timeSinceLastHeartbeat?: number;
  hardware?: { cpuCores: number; physicalMemory: number; freeMemory: number };
  allocatedSlots?: AllocatedSlot[];
}

export interface LogFiles {
  logs: { name: string; size: number; mtime?: number }[];
}

export interface ThreadDump {
  threadInfos: { threadName: string; stringifiedThreadInfo: string }[];
}

export interface Program {
  id: string;
  name: string;
  uploaded: number;
}

export interface OperationStatus {
  status: { id: "IN_PROGRESS" | "COMPLETED" };
  operation?: {
    location?: string;
    "failure-cause"?: { class?: string; "stack-trace"?: string };
  } | null;
}
